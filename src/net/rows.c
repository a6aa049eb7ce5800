/* Rows that are sent in pieces. */
#include <string.h>

#include "src/net/state.h"

/** Packs rows with gaps between them into the record. */
static void pack(const tsr_net_source_t *source, const tsr_net_piece_t *piece,
		 unsigned char *staged)
{
	for (uint64_t i = 0; i < piece->rows; i++)
		memcpy(staged + i * piece->row_bytes,
		       source->base + (piece->row + i) * source->pitch_bytes, piece->row_bytes);
}

tsr_net_piece_t tsr_net_cut(const tsr_net_source_t *source, uint64_t *row, uint64_t *column,
			    size_t most, tsr_net_sending_t *sending)
{
	tsr_net_piece_t piece = {.row = *row, .column = *column, .rows = 1};
	piece.data = source->base + *row * source->pitch_bytes + *column;
	if (source->row_bytes > most) {
		const uint64_t left = source->row_bytes - *column;
		piece.row_bytes = left < most ? left : most;
		*column += piece.row_bytes;
		if (*column == source->row_bytes)
			*row += 1, *column = 0;
		return piece;
	}
	const uint64_t fit = most / source->row_bytes, left = source->rows - *row;
	piece.row_bytes = source->row_bytes;
	piece.rows = left < fit ? left : fit;
	*row += piece.rows;
	if (piece.rows > 1 && source->pitch_bytes != source->row_bytes) {
		pack(source, &piece, sending->staged);
		piece.data = sending->staged;
	}
	return piece;
}
