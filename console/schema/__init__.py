"""Tables and indexes: their definitions, comparison with the existing ones, templates, creation and IAM policies."""
