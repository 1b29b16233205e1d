// Package policyfile reads policy files and chooses actions by them. It needs no
// Gorgonia, allocates nothing per choice, and gives the propensities that training
// and certificates speak of.
//
// # The policy file
//
// One JSON object (UTF-8). Numbers are the shortest decimals that read back as the
// same 64-bit floating-point number. A reader refuses fields that it does not
// know. K actions, d features.
//
//	format       "opl policy"
//	version      1
//	digest       64 hexadecimal digits, 0 to f: replace them in the bytes of the file by 64
//	             zeros, and they are the SHA-256 of the whole. It is the name of the
//	             policy in answers and logs, "policy_hash"
//	kind         "softmax" or "gaussian", see below
//	actions      K ≥ 2 names, no two alike; action a is the a-th, from 0
//	sigma        σ > 0 of a gaussian, 0 of a softmax
//	nodes        J ≥ 65 of the quadrature of a gaussian; without it 65
//	floor        ε in [0, 1)
//	encoder      of contexts, named values, into φ(x):
//	  names        of features; a category v of a column c is the value 1 of "c=v"
//	  scale        one for each name
//	  center       one for each name; without it 0
//	  intercept    true: a last feature that is 1
//	  unit         true: φ(x) is divided by its Euclidean norm, unless that is 0
//	weights      μ, K rows of d numbers
//	prior        N(mean, scale²·I), optional:
//	  mean         K rows of d numbers
//	  scale        s > 0
//	  taught       the rows of a log that it was learned from, optional:
//	    rows         their hashes, sorted, distinct, 64 bits little-endian each, in base64
//	    count        how many
//	    seed         of the hash
//	    how          the hash is taken, of what
//	    data_hash    of the log
//	training     an object of whoever trained it, optional
//	data_hash    of the log that it was learned from; empty: not known
//	certificate  an object, what is guaranteed of the policy, floor included; optional
//	created      opl, commit, go, system: versions of what wrote the file
//
// The feature vector is φ_j = (v_j − center_j)·scale_j, v_j = 0 where the context
// lacks the name, then the intercept, then the division by the norm. With the
// scores s_a = Σ_j φ_j μ_aj, the propensities are
//
//	π(a|x) = (1 − ε)·π_Q(a|x) + ε/K
//	softmax:   π_Q(a|x) = exp(s_a)/Σ_k exp(s_k)
//	gaussian:  π_Q(a|x) = P(a = argmax_k φ(x)ᵀθ_k), θ ~ N(μ, σ²I)
//	                    ≈ h Σ_j φ_N(t_j − z_a) ∏_{k≠a} Φ(t_j − z_k),  z = s/(σ‖φ(x)‖)
//
// with t_j the J points m + low + j·h, j from 0, m = max_k z_k, that span [m−6, m+8]
// for J = 65 and [m−9, m+9] above; φ_N and Φ are the standard normal density and
// distribution function. If φ(x) = 0 a gaussian gives 1/K. Policies that are known by
// draws alone (softmax-posterior, mixedlogit) have no propensities that a log could
// be sure of, and no file.
package policyfile
