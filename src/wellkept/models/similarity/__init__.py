"""The similarity scale: graded pairs and the calibrations fitted on them."""
