"""The trail in files that outlive its table: JSON lines in a keyed chain, whose head is recorded in the trail itself.

`chain` derives the key and links the lines, `manifest` lists the contents, `places` writes to a directory or a bucket,
`walk` reads the table, `exporting` and `verifying` put them together. Only commands use this package.
"""
