"""What is made up where a program takes something from elsewhere: data, parameters, names that nothing defines."""
