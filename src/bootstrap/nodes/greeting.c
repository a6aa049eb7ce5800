/* Knock, challenge, hello, verdict: over TCP. */
#include "src/bootstrap/nodes/greeting.h"

#include <string.h>

static bool say(tsr_link_t *link, const void *message, size_t size_bytes, tsr_link_stage_t stage)
{
	link->stage = stage;
	return tsr_buffer_add(&link->out, message, size_bytes);
}

static tsr_greeting_t challenge(tsr_link_t *link, const tsr_key_t *key)
{
	tsr_wire_knock_t knock;
	const void *bytes = tsr_link_take(link, sizeof knock);
	if (bytes == NULL)
		return TSR_GREETING_WAITS;
	memcpy(&knock, bytes, sizeof knock);
	if (knock.magic != TSR_WIRE_MAGIC ||
	    !tsr_random_bytes(&link->my_nonce, sizeof link->my_nonce))
		return TSR_GREETING_WRONG;
	link->its_nonce = knock.nonce;
	const tsr_wire_challenge_t reply = {
		.magic = TSR_WIRE_MAGIC,
		.nonce = link->my_nonce,
		.proof = tsr_wire_door_proof(key, link->its_nonce, link->my_nonce)};
	return say(link, &reply, sizeof reply, TSR_LINK_CHALLENGED) ? TSR_GREETING_WAITS
								    : TSR_GREETING_WRONG;
}

tsr_greeting_t tsr_greet_guest(tsr_link_t *link, const tsr_key_t *key, tsr_wire_hello_t *hello_out)
{
	tsr_wire_hello_t hello;
	tsr_greeting_t greeting = TSR_GREETING_WAITS;
	if (link->stage == TSR_LINK_GUEST)
		greeting = challenge(link, key);
	if (greeting != TSR_GREETING_WAITS || link->stage != TSR_LINK_CHALLENGED)
		return greeting;
	const void *bytes = tsr_link_take(link, sizeof hello);
	if (bytes == NULL)
		return TSR_GREETING_WAITS;
	memcpy(&hello, bytes, sizeof hello);
	if (hello.magic != TSR_WIRE_MAGIC || hello.kind != TSR_HELLO_NODE ||
	    hello.proof != tsr_wire_hello_proof(key, link->its_nonce, link->my_nonce, &hello))
		return TSR_GREETING_WRONG;
	*hello_out = hello;
	return TSR_GREETING_DONE;
}

bool tsr_greet_first(tsr_link_t *link)
{
	if (!tsr_random_bytes(&link->my_nonce, sizeof link->my_nonce))
		return false;
	const tsr_wire_knock_t knock = {.magic = TSR_WIRE_MAGIC, .nonce = link->my_nonce};
	return say(link, &knock, sizeof knock, TSR_LINK_KNOCKED);
}

static tsr_greeting_t answer(tsr_link_t *link, const tsr_key_t *key, tsr_wire_hello_t *hello)
{
	tsr_wire_challenge_t heard;
	const void *bytes = tsr_link_take(link, sizeof heard);
	if (bytes == NULL)
		return TSR_GREETING_WAITS;
	memcpy(&heard, bytes, sizeof heard);
	if (heard.magic != TSR_WIRE_MAGIC ||
	    heard.proof != tsr_wire_door_proof(key, link->my_nonce, heard.nonce))
		return TSR_GREETING_WRONG;
	hello->magic = TSR_WIRE_MAGIC;
	hello->kind = TSR_HELLO_NODE;
	hello->proof = tsr_wire_hello_proof(key, link->my_nonce, heard.nonce, hello);
	return say(link, hello, sizeof *hello, TSR_LINK_GREETED) ? TSR_GREETING_WAITS
								 : TSR_GREETING_WRONG;
}

tsr_greeting_t tsr_greet_host(tsr_link_t *link, const tsr_key_t *key, tsr_wire_hello_t *hello,
			      tsr_wire_verdict_t *verdict_out)
{
	tsr_greeting_t greeting = TSR_GREETING_WAITS;
	if (link->stage == TSR_LINK_KNOCKED)
		greeting = answer(link, key, hello);
	if (greeting != TSR_GREETING_WAITS || link->stage != TSR_LINK_GREETED)
		return greeting;
	const void *bytes = tsr_link_take(link, sizeof *verdict_out);
	if (bytes == NULL)
		return TSR_GREETING_WAITS;
	memcpy(verdict_out, bytes, sizeof *verdict_out);
	verdict_out->sentence[sizeof verdict_out->sentence - 1] = '\0';
	return TSR_GREETING_DONE;
}
