// Package policyfile reads and writes policy files and chooses actions by them. Use it
// to play a policy in your own process ([Load], [Policy.Choose]). It needs no Gorgonia,
// allocates nothing for a choice, and gives the propensities that were certified.
//
// # The policy file
//
// One JSON object (UTF-8). Numbers are the shortest decimals that read back as the
// same 64-bit floating-point number. A reader refuses fields that it does not
// know. K actions, d features. The digest is no signature: it tells a file that was
// damaged from one that was not, and says nothing of who wrote it.
//
//	format       "opl policy"
//	version      3; 4 where a layer has an image or actions have features; 5 where a layer is of trees, pieces,
//	             products or branches; 6 where actions are numbers; 7 where scores are joint or a layer clips;
//	             8 where a reward model has a dispersion; files of version 2, whose layers have no
//	             activation but relu, and of version 1, of one component, are read
//	digest       64 hexadecimal digits, 0 to f: replace them in the bytes of the file by 64
//	             zeros, and they are the SHA-256 of the whole. It is the name of the
//	             policy in answers and logs, "policy_hash"
//	actions      K ≥ 2 names, no two alike; action a is the a-th, from 0. Where they have features
//	             those of the catalogue; none without one
//	numbers      where actions are numbers, what these stand for, see package numeric: edges of bins, and atoms;
//	             actions are its names. An argmax plays window neighbouring bins, evenly; without it one. optional
//	catalogue    what actions are described by, where they have features, see below; optional: a
//	             policy without is one of actions that each decision offers with their features
//	floor        ε in [0, 1)
//	reward_min   the rewards, in the log's units, that are 0 and 1
//	reward_max
//	columns      the columns of the log that the schema's names stand for, by these names
//	components   the policies of the mixture, at least one:
//	  weight       w in (0, 1]; they sum to 1
//	  kind         "softmax", "gaussian" or "argmax", see below
//	  sigma        σ > 0 of a gaussian, 0 of the others
//	  nodes        J ≥ 65 of the quadrature of a gaussian; without it 65
//	  encoder      of contexts, named values, into features:
//	    names        of features; a category v of a column c is the value 1 of "c=v"
//	    scale        one for each name
//	    center       one for each name; without it 0
//	    width        one for each name, ≥ 0; without it 0, see [features.Encoder]
//	    impute       true: a name that the context lacks counts as the centre, not as 0
//	    missing      names, with impute, that have a feature of their own which tells that they are absent
//	    intercept    true: a last feature that is 1
//	    unit         true: the features are divided by their Euclidean norm, unless that is 0
//	  layers       learned maps of the features, one after another, see [features.Layer];
//	               what the last gives is φ(x). With image (height, width, channels, size, and pad
//	               and pool, without which they are 0 and 1) a layer is a convolution. A layer of
//	               another kind has one field: trees, pieces, products or branches, see below
//	  items        where actions have features, and then in all components, z(a) of p numbers:
//	    encoder      of an action's named values; its fields are those of encoder above
//	    own          names of actions that have a row of their own
//	  joint        true, with items: the layers are of φ(x) and then z(a), for each action; without it of φ(x) alone
//	  weights      μ, K rows of d numbers; with items W, p rows; with joint one row
//	  prior        N(mean, scale²·I), optional
//	  taught       hashes of the rows that what must be fixed was learned from: prior, encoder,
//	               layers, reward model; sorted, distinct, 64 bits little-endian each, in base64
//	  chosen       likewise, of the rows that the posterior was trained or chosen on; of an argmax, or a softmax
//	               without a prior, those that certified it, which changed nothing of it: none if they
//	               are more than 2²⁴. In a mixture that was learned in chunks these are
//	               a chunk's, w is their share, and those before are among taught
//	reward_models  of doubly robust bounds, optional: kind "softmax" or "logistic", weights as those of the component,
//	             without which they are the prior's mean, and the component (from 0, which need not
//	             be said) whose features they are of, and whose rows taught them; dispersion φ of rewards
//	             whose variance is φ r̂(1 − r̂), 1 if it is not said
//	history      where the policy comes from:
//	  known        true: every row that had a part in it is recorded
//	  data_hash    of the log that it was learned from; empty: not known
//	  how, seed    what the hashes of rows are taken of, and their seed
//	  from, until  times of the earliest and the latest row, nanoseconds since 1970
//	  tried        priors that the posterior's was chosen among on the rows chosen; δ pays for them
//	  repeats      rows that had a part in it and whose content one of them had before, if
//	               rows are told apart by content
//	  groups       hashes of the groups of the rows that had a part in it: likewise, of the seed and
//	               the xxHash64 of the group's name
//	  witnesses    by what some of the rows can be known again without an id, at several
//	               roundings of contexts, see [Fingerprints]
//	  ancestors    policies that logged the rows: policy (its hash), known, data_hash, how, seed,
//	               rows, the hashes of all rows that had a part in them, repeats and witnesses
//	training     an object of whoever trained it, optional
//	certificate  an object, what was said to be guaranteed of the policy, floor included; optional.
//	             Nothing keeps anybody from writing one: certify again. Its field among, where actions have
//	             features: the hash of the catalogue of which all decisions that certified offered all, or "sets"
//	created      opl, commit, go, system: versions of what wrote the file
//
// The features are u_j = (b_j − center_j)·scale_j, b_j = v_j, or asinh(v_j/width_j) where width_j > 0; where the
// context lacks the name v_j = 0, or u_j = 0 with impute. Then come those of missing, then the intercept, then the
// division by the norm, then the layers.
// With the scores s_a = Σ_j φ_j μ_aj, the propensities are
//
//	π(a|x) = (1 − ε)·Σ_m w_m π_m(a|x) + ε/K
//	argmax:    π_m(a|x) = 1 for the largest s_a, the first of equals, else 0
//	softmax:   π_m(a|x) = exp(s_a)/Σ_k exp(s_k)
//	gaussian:  π_m(a|x) = P(a = argmax_k φ(x)ᵀθ_k), θ ~ N(μ, σ²I)
//	                    ≈ h Σ_j φ_N(t_j − z_a) ∏_{k≠a} Φ(t_j − z_k),  z = s/(σ‖φ(x)‖)
//
// with t_j the J points m + low + j·h, j from 0, m = max_k z_k, that span [m−6, m+8]
// for J = 65 and [m−9, m+9] above; φ_N and Φ are the standard normal density and
// distribution function. If φ(x) = 0 a gaussian gives 1/K. Policies that are known by
// draws alone have no propensities that a log could be sure of, and no file.
//
// # Layers of other kinds
//
// Each is an object with one field, an object that says with "in" how many features x it takes. Feature j is the j-th,
// from 0. All numbers are finite.
//
//	trees        a forest: h_o = base_o + Σ values of the leaves that x falls into, of the trees of output o,
//	             in the order of the trees. See [features.Forest]
//	  base         one number for each output
//	  outputs      o of each tree
//	  sizes        how many nodes each tree has; they are next to each other, the root first
//	  feature      of each node: j ≥ 0 splits by x_j, left if x_j ≤ value; −1 is a leaf; −2 − s splits by set s, left
//	               if any feature of the set is not 0
//	  value        of each node: of a leaf what it adds; of a split by a set 0
//	  right        of each node i: its left child is node i + 1, its right child node i + right; 0 for a leaf
//	  sets         features, ascending; optional
//	pieces       the features of keep, without it all, and then for each of features, with knots t_0 < … < t_B,
//	             min(1, max(0, (x_j − t_b)/(t_{b+1} − t_b))), b = 0 … B − 1. See [features.Pieces]
//	  keep         features, optional
//	  features     those with knots
//	  knots        of each, at least 2
//	products     x, and then x_i·x_j of each pair. See [features.Products]
//	  pairs        [i, j]
//	clip         min(high_j, max(low_j, x_j)). See [features.Clip]
//	  low, high    of each feature
//	branches     what several chains of layers make of x, one after the other. See [features.Branches]
//	  chains       layers of each chain; a chain without layers gives x
//
// A tree is at most 64 deep, and a layer of these kinds gives at most 2²⁰ numbers.
//
// # Actions with features
//
// With items the scores are
//
//	s_a = Σ_j g_j z_j(a),   g_j = Σ_i φ_i(x) W_ji
//
// each sum in the order of its index, every product and every sum rounded to 64 bits. If they are joint, the layers make
// h of the features φ(x) and, behind them, z(a), and s_a = Σ_j h_j μ_j, whose last bits depend on the program: parts of
// φ(x) and of z(a) alone are computed once here. z(a) is what the
// items' encoder gives of a's named values, rounded to 32 bits, and then a 1 for each
// name in own that is a's, else 0. K is the number of actions that are offered, and so is that of the
// floor ε/K. The kinds are softmax and argmax: actions share W, so that the scores under a gaussian are
// correlated, and it has no quadrature.
//
// The catalogue has, for the K actions,
//
//	hash         64 hexadecimal digits: the SHA-256 of K and then, for each action in order, the number of bytes of
//	             its name and these, and then, for each column in the order of the bytes of its name, the
//	             same of that, for each action whose value is not 0 its number from 0
//	             and the bits of the value as a 64-bit floating-point number, and 2⁶⁴ − 1; all numbers
//	             are 64 bits, little-endian
//	columns      of values by name, each with one of float64, float32 and ones:
//	  name         not two alike; a category v of a column c is the value 1 of "c=v"
//	  float64      K numbers of 64 bits, little-endian, in base64
//	  float32      likewise of 32 bits, if all values are such numbers
//	  ones         actions whose value is 1, ascending, as integers of 32 bits, little-endian, in
//	               base64; the others have 0
//
// An action lacks no value: one that is not told is 0. [Policy.WithCatalogue] serves another catalogue with the
// same weights. What is guaranteed of a policy is guaranteed of the actions that the certificate's log
// offered: among others softmax and argmax are other policies.
package policyfile
