"""The console in AWS as one CloudFormation template, made from the registry of tables and the policies of processes.

`parameters` is what the person chooses who deploys it, `storage` tables and queues, `access` policies and roles,
`functions` Lambdas, `services` what runs in containers, `alarms` what wakes somebody; `template` puts it together.
"""
