package regress

// Cuts is cuts.
var Cuts = cuts
