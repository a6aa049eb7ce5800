/* Inputs and outputs of a session: filled, poisoned, and judged. */
#include <string.h>

#include "kernels/host/inputs.h"
#include "kernels/host/matrices.h"
#include "tools/bench/bench.h"

bool bench_matrix(const bench_session_t *session, int index, workload_matrix_t *matrix_out)
{
	const tsr_world_t *world = session->world;
	return session->workload->matrix(&session->options->config, index, tsr_world_rank(world),
					 tsr_world_size(world), matrix_out);
}

tsr_status_t bench_judges_create(bench_session_t *session)
{
	const bench_options_t *options = session->options;
	workload_matrix_t matrix;
	tsr_status_t status = session->workload->expect(session->world, &options->config,
							&options->inputs, &session->expected);
	for (int i = 0; status == TSR_OK && bench_matrix(session, i, &matrix); i++)
		if (matrix.use == WORKLOAD_OUTPUT)
			status =
				judge_create(session->expected, i, &matrix,
					     options->inputs.integers && !session->workload->rounds,
					     &session->judges[i]);
	return status;
}

void bench_judges_destroy(bench_session_t *session)
{
	for (int i = 0; i < WORKLOAD_MATRICES; i++)
		judge_destroy(session->judges[i]);
	if (session->expected)
		session->expected->close(session->expected);
}

tsr_status_t bench_fill(bench_session_t *session)
{
	workload_matrix_t matrix;
	tsr_status_t status = TSR_OK;
	for (int i = 0; status == TSR_OK && bench_matrix(session, i, &matrix); i++)
		if (matrix.use == WORKLOAD_INPUT)
			status = inputs_fill(session->world, &session->options->inputs, &matrix,
					     session->workload->view(session->run, i));
	return status;
}

tsr_status_t bench_poison(bench_session_t *session)
{
	workload_matrix_t matrix;
	tsr_status_t status = TSR_OK;
	for (int i = 0; status == TSR_OK && bench_matrix(session, i, &matrix); i++)
		if (matrix.use == WORKLOAD_OUTPUT)
			status = matrix_poison(session->world,
					       session->workload->view(session->run, i));
	return status;
}

tsr_status_t bench_judge(const bench_session_t *session, int run, bench_finding_t *finding)
{
	tsr_status_t status = TSR_OK;
	for (int i = 0; status == TSR_OK && i < WORKLOAD_MATRICES; i++) {
		verdict_t verdict;
		if (!session->judges[i] || finding->verdict.wrong)
			continue;
		status = judge_view(session->judges[i], session->world,
				    session->workload->view(session->run, i), &verdict);
		if (status == TSR_OK && verdict.wrong)
			*finding = (bench_finding_t){run, i, verdict};
	}
	return status;
}

tsr_status_t bench_agree_on(const bench_session_t *session, bool verified, const char *const *runs,
			    const bench_finding_t *finding, bench_judgement_t *judgement_out)
{
	bench_finding_t mine, all[TSR_MAX_RANKS];
	const int ranks = tsr_world_size(session->world);
	memset(&mine, 0, sizeof mine); /* padding travels too */
	mine.run = finding->run;
	mine.matrix = finding->matrix;
	mine.verdict = finding->verdict;
	tsr_status_t status =
		tsr_team_gather_all(tsr_world_team(session->world), &mine, all, sizeof mine);
	*judgement_out = (bench_judgement_t){.verified = verified, .wrong_rank = -1};
	for (int r = 0; status == TSR_OK && judgement_out->wrong_rank < 0 && r < ranks; r++) {
		if (all[r].verdict.wrong == 0)
			continue;
		judgement_out->wrong_rank = r;
		judgement_out->wrong_run = runs[all[r].run];
		judgement_out->verdict = all[r].verdict;
		(void)session->workload->matrix(&session->options->config, all[r].matrix, r, ranks,
						&judgement_out->wrong);
	}
	return status;
}
