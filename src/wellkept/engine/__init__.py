"""The engine: owns transaction, clock, ids and retries; synchronous; decides nothing."""
