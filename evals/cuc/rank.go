package cuc

// Settings are the eight thresholds of the paper's ablation, from the first to the last that it names; it
// does not name those between. The default is the fourth.
func Settings() []Thresholds {
	return []Thresholds{{0.50, 0.05}, {0.50, 0.10}, {0.60, 0.05}, {0.60, 0.10}, {0.70, 0.10}, {0.70, 0.15}, {0.80, 0.15}, {0.80, 0.20}}
}

// Joint is a ranking's score of coherence and commitment together: the share of examples that are answered
// and right, less the contradiction, Coverage · Acc_cov · (1 − E[v_neg]). It is 0 for a model that answers
// nothing and for one that affirms everything. The paper ranks jointly without a formula; this one is our own.
func Joint(coverage, accCov, violation float64) float64 {
	if coverage == 0 {
		return 0
	}
	return coverage * accCov * (1 - violation)
}
