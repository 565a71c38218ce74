"""Training of the relation model: material, trainer, evaluation, export. Not part of the installed product."""
