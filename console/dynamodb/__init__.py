"""Everything between the console and DynamoDB: one client, models, table registry, provisioning, paging, errors."""
