# Completion of `tessera` for bash. The command itself says what there is, in its help: commands
# under "commands:", and options where lines begin.

_tessera_commands() {
	"$1" --help 2>/dev/null | sed -n '/^commands:/,/^$/s/^  \([a-z]*\) .*/\1/p'
}

_tessera_workloads() {
	"$1" bench --list 2>/dev/null | grep -E '^[a-z][-a-z]*$'
}

# _tessera_options COMMAND...: of its help
_tessera_options() {
	"$@" --help 2>/dev/null |
		grep -oE '^ {2,6}(-[A-Za-z], +)?--?[A-Za-z][-A-Za-z]*' | grep -oE -e '-[-A-Za-z]+'
}

_tessera() {
	local word=${COMP_WORDS[COMP_CWORD]} command=${COMP_WORDS[0]} first=${COMP_WORDS[1]} words=
	COMPREPLY=()
	if [ "$COMP_CWORD" -eq 1 ]; then
		words="$(_tessera_commands "$command") --help --version"
	elif [ "${word#-}" != "$word" ] && [ "$first" = bench ]; then
		words=$(_tessera_options "$command" bench "${COMP_WORDS[2]}")
	elif [ "${word#-}" != "$word" ] && [ "$first" = sim ]; then
		words="$(_tessera_options "$command" sim) $(
			_tessera_options "$command" bench "${COMP_WORDS[2]}")"
	elif [ "${word#-}" != "$word" ]; then
		words=$(_tessera_options "$command" "$first")
	elif [ "$COMP_CWORD" -eq 2 ] && [[ $first = bench || $first = sim ]]; then
		words=$(_tessera_workloads "$command")
	elif [ "$COMP_CWORD" -eq 2 ] && [ "$first" = help ]; then
		words=$(_tessera_commands "$command")
	fi
	# Where nothing is known there are files, by -o default.
	[ -z "$words" ] || mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
}

complete -o default -F _tessera tessera
