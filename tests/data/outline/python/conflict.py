import os


def a(x):
    y = x
<<<<<<< HEAD
    return y + 1
=======
    return y + 2
>>>>>>> topic


def b():
    return 3
