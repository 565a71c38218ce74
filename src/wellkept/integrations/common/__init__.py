"""What several integrations use: namespaces of users and sessions, tools for models, and turns of a conversation."""
