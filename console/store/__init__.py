"""Everything between the console and DynamoDB: one client, calls, errors, base models, paging and merging."""
