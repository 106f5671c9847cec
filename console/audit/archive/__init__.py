"""The trail in files that outlive its table: JSON lines in a keyed chain, whose head stands in the trail itself.

`chain` derives the key and links the lines, `manifest` says what there is, `places` are a directory or a bucket, `walk`
reads the table, `exporting` and `verifying` put them together. Only commands use this package.
"""
