"""What the studies are called; here, so that they can be listed without loading one."""

from __future__ import annotations

TITLES = {
    "mothali-attack": "Mothali (2011): attacking Anatomy, chapters 3 to 5",
    "mothali-classifier": "Mothali (2011): naive Bayes from noisy counts, chapters 7 and 8",
    "wu": "Wu: a gradient EM algorithm with discrete Gaussian noise",
    "xi": "Xi, Kantarcioglu, Inan: Mixture of Gaussian Models and Bayes Error under Differential Privacy (2011)",
    "rongauss": "RON-Gauss (2019): synthetic rows in a small space, Tables 3 to 5, Figures 1 to 3",
    "pathak": "Pathak and Raj (2012): large margin Gaussian mixtures, figure 2",
}
