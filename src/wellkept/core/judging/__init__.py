"""How a new statement relates to a stored memory: rules and model opinions become one comparison."""
