#!/bin/sh
# The dispatcher: help of every command, the version, and what is misspelt.
. "$(dirname "$0")/tap"

for command in run bench perf litmus check info cc; do
	prints "the help lists $command" "^  $command " tessera --help
	prints "$command has a help" "^usage: tessera $command" tessera $command --help
	prints "help $command is the same" "^usage: tessera $command" tessera help $command
done
prints "the version" '^tessera [0-9]+\.[0-9]+\.[0-9]+$' tessera --version
changelog=$(dirname "$0")/../../CHANGELOG.md
version=$(sed -n 's/^## \[\([^]]*\)\].*/\1/p' "$changelog" | head -1)
[ "$(cat "$TAP_FILES/out")" = "tessera $version" ]
verdict $? "it is that of the changelog" "the changelog's first version is '$version'"
refuses "no command" 2 'which command' tessera
refuses "a misspelt command" 2 "unknown command 'pref'; did you mean 'perf'\?" tessera pref
refuses "a command of two lines" 2 "unknown command" tessera "x
y"
refuses "a command like none" 2 "unknown command 'xyzzyxyzzy' \(" tessera xyzzyxyzzy
refuses "an option for a command" 2 "unknown option '--verbos'" tessera --verbos
finish
