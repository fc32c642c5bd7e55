// Package paper is what text for people is written on: as wide as the terminal, with colour where there is any, in
// tables that give up their least dear columns, and without any character that could command the terminal. It knows
// nothing of machines.
package paper
