#compdef tessera
# Completion of `tessera` for zsh. The command itself says what there is, in its help: commands
# under "commands:", and options where lines begin.

_tessera_commands() {
	local -a found
	found=(${(f)"$($words[1] --help 2>/dev/null |
		sed -n '/^commands:/,/^$/s/^  \([a-z]*\)  *\(.*\)/\1:\2/p')"})
	_describe command found
}

# _tessera_options COMMAND...: of its help
_tessera_options() {
	compadd -- ${(f)"$("$@" --help 2>/dev/null |
		grep -oE '^ {2,6}(-[A-Za-z], +)?--?[A-Za-z][-A-Za-z]*' | grep -oE -e '-[-A-Za-z]+')"}
}

_tessera() {
	if (( CURRENT == 2 )); then
		_tessera_commands
	elif [[ $words[CURRENT] == -* && $words[2] == bench ]]; then
		_tessera_options $words[1,3]
	elif [[ $words[CURRENT] == -* && $words[2] == sim ]]; then
		_tessera_options $words[1,2]
		_tessera_options $words[1] bench $words[3]
	elif [[ $words[CURRENT] == -* ]]; then
		_tessera_options $words[1,2]
	elif [[ $words[2] == (bench|sim) ]] && (( CURRENT == 3 )); then
		compadd -- ${(f)"$($words[1] bench --list 2>/dev/null | grep -E '^[a-z][-a-z]*$')"}
	elif [[ $words[2] == help ]] && (( CURRENT == 3 )); then
		_tessera_commands
	else
		_files
	fi
}

_tessera "$@"
