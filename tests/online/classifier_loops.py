"""Online classifiers as in the papers: plain loops that share nothing with the library."""

import numpy as np
from scipy.stats import norm


def steps(name, parameters, m, u, mistake):
    """Return the step τ of w and the factor of x xᵀ in Σ⁻¹; None if there is no update."""
    loss = max(0.0, 1 - m)
    C = parameters.get("C", 1.0)
    if name == "Perceptron":
        return (1.0, 0.0) if mistake else None
    if name == "SecondOrderPerceptron":
        return (None, 1.0) if mistake else None
    if name == "CW":
        phi = norm.ppf(parameters.get("eta", 0.9))
        if m >= phi * u:
            return None
        root = np.sqrt((1 + 2 * phi * m) ** 2 - 8 * phi * (m - phi * u))
        alpha = max(0.0, (-(1 + 2 * phi * m) + root) / (4 * phi * u))
        return alpha, 2 * alpha * phi
    if loss <= 0:
        return None
    if name == "AROW":
        r = parameters.get("r", 1.0)
        return loss / (u + r), 1 / r
    variant = parameters.get("variant", "PA-I").replace("PAM", "PA")
    return {"PA": loss / u, "PA-I": min(C, loss / u), "PA-II": loss / (u + 1 / (2 * C))}[
        variant
    ], 1.0


class Model:
    """w and Σ of one class, with a full Σ, a diagonal one, or none."""

    def __init__(self, name, parameters, d):
        self.name, self.parameters = name, parameters
        self.first_order = name in ("Perceptron", "PA")
        self.diagonal = parameters.get("covariance", "full") == "diagonal"
        start = parameters.get("initial_variance", 1 / parameters.get("a", 1.0))
        self.w, self.v = np.zeros(d), np.zeros(d)
        self.sigma = np.eye(d) * start

    def variance(self, x):
        return x @ self.sigma @ x

    def update(self, x, y, tau, c):
        gain = self.sigma @ x
        if not self.first_order:
            if self.diagonal:
                self.sigma = np.diag(1 / (1 / np.diag(self.sigma) + c * x**2))
            else:
                self.sigma = self.sigma - c / (1 + c * (x @ gain)) * np.outer(gain, gain)
        if tau is None:  # the second-order perceptron
            self.v = self.v + y * x
            self.w = self.sigma @ self.v
        else:
            self.w = self.w + tau * y * gain


def one_against_rest(name, parameters, X, signs):
    """Return the model of y = ±1, the scores before each update, and the number of updates."""
    model = Model(name, parameters, X.shape[1])
    scores, updates = [], 0
    for x, y in zip(X, signs, strict=True):
        s = model.w @ x
        scores.append(s)
        if not x.any():
            continue
        step = steps(name, parameters, y * s, model.variance(x), (s > 0) != (y > 0))
        if step is not None:
            model.update(x, y, *step)
            updates += 1
    return model, np.array(scores), updates


def top_two(name, parameters, X, labels, n_classes):
    """Return the models of all classes for ``multiclass=\"top2\"``."""
    models = [Model(name, parameters, X.shape[1]) for _ in range(n_classes)]
    for x, label in zip(X, labels, strict=True):
        scores = np.array([model.w @ x for model in models])
        wrong = [k for k in range(n_classes) if k != label]
        rival = wrong[int(np.argmax(scores[wrong]))]
        m = scores[label] - scores[rival]
        u = models[label].variance(x) + models[rival].variance(x)
        if not x.any():
            continue
        step = steps(name, parameters, m, u, np.argmax(scores) != label)
        if step is not None:
            models[label].update(x, +1, *step)
            models[rival].update(x, -1, *step)
    return models


def uneven_margins(X, signs, positive, negative, eta, R):
    """Return w and b of the perceptron with uneven margins; R=None is the longest sample so far."""
    w, b, longest = np.zeros(X.shape[1]), 0.0, 0.0
    for x, y in zip(X, signs, strict=True):
        longest = max(longest, np.linalg.norm(x))
        if y * (w @ x + b) <= (positive if y > 0 else negative):
            w = w + eta * y * x
            b = b + eta * y * (R or longest) ** 2
    return w, b
