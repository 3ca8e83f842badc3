"""Pushes the metrics of a run to a receiver: OTLP, or Prometheus remote write."""
