"""How a new statement relates to a stored memory: rules and model opinions give one comparison."""
