// Package train learns policies from logs: Adam over reshuffled minibatches ([Fit]), the reward
// that a policy earns on a labelled test set ([Evaluate]), and the record of a run that tables and
// figures are made of ([Record]). Use it to train an objective of your choice. For a policy file
// with a guarantee use package pipeline.
//
// Everything random comes from one seed by named streams ([Stream]), so equal
// configurations give equal results, whatever runs beside them.
package train
