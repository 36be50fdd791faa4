"""What training and evaluation share: data sets, metrics, tables."""
