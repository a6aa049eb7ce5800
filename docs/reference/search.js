// The search of the reference. Every word must occur in an entry; entries whose
// names match come before those whose text does.
"use strict";

const MOST = 60;

// How well an entry matches a word: 0 is best, null is not at all.
function rank(entry, word) {
	const names = entry.names.map((name) => name.toLowerCase());
	if (names.includes(word) || names.includes("tsr_" + word))
		return 0;
	if (names.some((name) => name.startsWith(word) || name.startsWith("tsr_" + word)))
		return 1;
	if (names.some((name) => name.includes(word)))
		return 2;
	if (entry.about.toLowerCase().includes(word))
		return 3;
	return entry.text.includes(word) ? 4 : null;
}

function search(all, query) {
	const words = query.toLowerCase().split(/\s+/).filter((word) => word);
	return all
		.map((entry) => ({entry: entry, ranks: words.map((word) => rank(entry, word))}))
		.filter((each) => each.ranks.length > 0 && !each.ranks.includes(null))
		.map((each) => ({entry: each.entry, rank: Math.max(...each.ranks)}))
		.sort((a, b) => a.rank - b.rank || (a.entry.names[0] < b.entry.names[0] ? -1 : 1))
		.map((each) => each.entry);
}

function show(query) {
	const found = document.getElementById("found");
	const hits = search(entries, query);
	found.replaceChildren();
	document.getElementById("all").hidden = query.trim() !== "";
	if (query.trim() === "")
		return;
	const list = found.appendChild(document.createElement("ul"));
	for (const hit of hits.slice(0, MOST)) {
		const item = list.appendChild(document.createElement("li"));
		const link = item.appendChild(document.createElement("a"));
		link.href = hit.file;
		link.textContent = hit.names.join(", ");
		item.append(" " + hit.about);
	}
	const rest = hits.length - MOST;
	if (hits.length === 0)
		found.textContent = "Nothing has all of these words.";
	else if (rest > 0)
		found.append(rest + " more");
}

if (typeof document !== "undefined") {
	const query = document.getElementById("query");
	query.addEventListener("input", () => show(query.value));
	show(query.value);
}
