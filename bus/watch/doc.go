// Package watch follows what is stored in a bucket or stream: one consumer each, which lists what is there and then
// brings every change. Mirror and Cache keep the newest value of each key, ResultBatches the single results of agents,
// NodeFeed the states of nodes, of which it keeps no bodies. Package store and the rooms of the hub call it.
//
// Updates of one bucket arrive in stream order, and every key at least once after each reconnect; callbacks must not
// block. What is listed is whole while Synced says so.
package watch
