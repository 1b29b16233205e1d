package policies

// Gaussian32 is the source of IID in graphs of float32.
var Gaussian32 = gaussian32
