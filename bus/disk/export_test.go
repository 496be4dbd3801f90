package disk

// Inodes reads what a file system says of its inodes.
var Inodes = inodes
