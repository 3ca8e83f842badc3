"""What servers of MySQL's family count and show, asked by connections of ours."""
