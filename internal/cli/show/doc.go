// Package show has the commands of hale that only read: how everything stands, why, what happened, what people hold and
// ordered, what was kept as evidence, and what a controller would do. They ask a running controller through package
// api, and render what it answers. They change nothing.
package show
