"""The console in AWS as one CloudFormation template, built from the registry of tables and the processes' policies.

`parameters` are the deployer's choices, `storage` tables and queues, `access` policies and roles, `functions` Lambdas,
`services` containers, `alarms` CloudWatch alarms; `template` puts it together.
"""
