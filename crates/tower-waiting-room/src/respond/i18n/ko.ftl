### 한국어. The arguments are described in `en.ftl`.

title-position = 대기 순번 { $shown }번
title-waiting = 대기 중
title-turn = 입장하실 차례입니다

headline-busy = 현재 이용자가 매우 많습니다
headline-closed = 죄송합니다. 정원이 모두 찼습니다
headline-draining = 대기열이 마감되었습니다
headline-full = 대기열이 가득 찼습니다
headline-key = 이 요청에 필요한 정보가 없습니다
headline-network = 사용 중인 네트워크에서 이미 많은 분이 대기하고 있습니다
headline-rate = 요청이 너무 빨랐습니다
headline-setup = 이 서비스가 올바르게 설정되지 않았습니다
headline-turn = 입장하실 차례입니다
headline-unavailable = 잠시만 기다려 주십시오
headline-waiting = 대기열에 계십니다

detail-busy = 현재 모든 자리가 사용 중입니다.
detail-closed = 현재 더 이상 입장할 수 없습니다.
detail-draining = 이미 대기 중인 분은 모두 입장하실 수 있지만, 새로 대기하실 수는 없습니다.
detail-full = 대기 인원이 대기열의 수용 인원을 넘었습니다.
detail-key = 누가 보냈는지 확인할 수 없습니다.
detail-network = 사용 중인 네트워크가 대기열에서 한 네트워크에 허용된 자리를 모두 사용하고 있습니다.
detail-rate = 짧은 시간 동안 너무 많은 요청을 보내셨습니다.
detail-setup = 고객님의 잘못이 아닙니다. 해결 방법은 서버 로그에 나와 있습니다.
detail-unavailable = 시스템에 문제가 있습니다. 곧 복구될 예정입니다.

position = 대기 순번은 { $shown }번입니다
position-about = 대기 순번은 약 { $shown }번입니다
position-first = 다음이 고객님 차례입니다
position-lot = 순서는 추첨으로 정해집니다
position-pending = 순번을 확인하고 있습니다
ahead = 앞에 약 { $shown }명이 있습니다

wait-about = 예상 대기 시간: 약 { $span }.
wait-long = 예상 대기 시간: 하루 이상.
wait-paused = 현재 입장이 중단되었습니다. 얼마나 걸릴지 아직 알 수 없습니다.
wait-short = 예상 대기 시간: 1분 미만.
wait-unknown = 얼마나 걸릴지 아직 알 수 없습니다.

keep = 이 탭을 닫아도 { $span } 동안 순번이 유지됩니다.
again = { $span } 후에 다시 시도해 주십시오.
unsent = 입력하신 내용은 아직 전송되지 않았지만 사라지지 않았습니다. 이 페이지를 열어 두고, 차례가 되면 다시 전송해 주십시오.

updates = 이 페이지는 자동으로 업데이트됩니다.
updated = 마지막 업데이트:
offline = 연결이 끊어졌습니다. 순번은 유지되며 계속 연결을 시도합니다.
online = 연결이 복구되었습니다.
cookies = 순번을 유지하려면 쿠키가 필요합니다.
button-again = 다시 시도
button-send = 다시 전송

seconds = { $count }초
minutes = { $count }분
hours = { $count }시간
minutes-range = { $low }~{ $count }분
hours-range = { $low }~{ $count }시간

stop = { $text }.

ahead-none = 앞에 대기 중인 사람이 없습니다
line-about = 약 { $shown }명이 대기하고 있습니다
slower = 입장 속도가 느려져 대기 시간이 늘어났습니다.
returned = 앞에서 대기하는 분들이 늘어나 대기 시간이 길어졌습니다.
retries = 이 페이지는 자동으로 다시 시도합니다.
support = 도움말 및 문의

event-start = 시작까지 { $span } 남았습니다.
event-lot = 시작할 때 추첨으로 순서가 정해집니다
event-number = 추첨 번호는 { $shown }번입니다.
event-proof = 추첨은 나중에 누구나 검증할 수 있습니다. 커밋먼트는 { $text }입니다.
event-result = 전체 { $count }개 중 { $low }번인 고객님의 번호가 추첨에서 { $shown }번째 순서를 받았습니다.
event-seed = 누구나 추첨을 다시 계산할 수 있습니다. 시드는 { $text }입니다.

transfer-here = 두 기기 중 더 앞선 순서로 여기에서 계속하기
transfer-link = 몇 분 안에 다른 기기에서 이 링크를 여세요. 내 순서를 사용할 수 있으므로 공유하지 마세요.
transfer-offer = 다른 기기에서 계속하기
transfer-void = 이 링크는 더 이상 유효하지 않습니다. 다른 기기에서 새 링크를 요청하세요.
