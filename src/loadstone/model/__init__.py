"""What is asked, recorded and answered, as frozen types; imports no other package of Loadstone."""
