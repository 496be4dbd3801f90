// Package hub holds the commands about the fleet as a whole: status, version, people, backups and secrets.
package hub
