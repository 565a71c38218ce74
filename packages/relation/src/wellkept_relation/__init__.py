"""The relation model of Wellkept: `model.onnx` and `relation.json`. Data only; `wellkept.models.relation` reads it."""
