// Package version compares Kubernetes versions and node images and reads VersionCatalogs: which
// versions and images a region has, what a channel or the alias of a minor stands for, and which
// version may follow which.
package version
