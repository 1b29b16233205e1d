// Package train learns policies from logs. [Fit] minimizes an objective by Adam over reshuffled
// minibatches. [Recipe] compares learners, such as [Direct] and [Rules], on some rows and has the
// best one certified on others. [Evaluate] says what a policy earns on a labelled test set, and
// [Record] what tables and figures show of a run. For a policy file use package pipeline.
//
// Everything random comes from one seed by named streams ([Stream]), so equal
// configurations give equal results, whatever runs beside them.
package train
