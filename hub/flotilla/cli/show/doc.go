// Package show prints objects: tables with the columns of each kind, kubectl's formats, and descriptions in words.
package show
