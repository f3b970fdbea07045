"""Stores and queues: `sqlite` in a file on this machine, `aws` in DynamoDB and SQS."""
