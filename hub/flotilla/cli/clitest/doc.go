// Package clitest holds objects and hubs that tests of the command line share.
package clitest
