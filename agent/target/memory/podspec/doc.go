// Package podspec reads what pods ask of their nodes, as the Kubernetes API says: what they are made from, what they
// request, which nodes they select and tolerate. It is judged here by nothing that simulations of disruptions use: a
// simulation that is wrong must not be right here.
package podspec
