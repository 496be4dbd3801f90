// Package web keeps who was let in: people ask for a link to the page with the credentials that they have, whoever opens the
// link begins a session, and programs show a token to the Kubernetes API. All are kept as hashes of their secrets. What has
// ended, or whose owner was revoked or renewed, lets nobody in and is removed. Package door serves its verbs.
package web
