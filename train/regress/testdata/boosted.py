"""Log-loss of scikit-learn's HistGradientBoostingClassifier on rows in a CSV, without early stopping: argv is the file, how
many rows teach, rounds, leaves, rows of a leaf, λ, and the columns of a category, or -1. The last column is the reward."""

import sys

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import log_loss

path, n, rounds, leaves, rows, l2, category = sys.argv[1], *map(float, sys.argv[2:])
data = np.loadtxt(path, delimiter=",")
n, x, y = int(n), data[:, :-1], data[:, -1]
category = None if category < 0 else [int(category)]
m = HistGradientBoostingClassifier(learning_rate=0.1, max_iter=int(rounds), max_leaf_nodes=int(leaves), max_depth=6, min_samples_leaf=int(rows),
                                   l2_regularization=l2, early_stopping=False, categorical_features=category)
m.fit(x[:n], y[:n])
print(log_loss(y[n:], m.predict_proba(x[n:])[:, 1]))
