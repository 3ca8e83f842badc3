"""What Loadstone costs, beside sysbench and beside the least that a client can cost."""
