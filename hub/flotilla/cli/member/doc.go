// Package member holds the commands about members: admitting, enrolling, revoking, leaving, taints and cordons.
package member
