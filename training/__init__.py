"""How the relation model is made: material, trainer, evaluation, export. Not part of the installed product."""
