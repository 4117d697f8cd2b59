"""What runs inside of your program: modules that import nothing else of this package, for any Python from 3.7 on."""
