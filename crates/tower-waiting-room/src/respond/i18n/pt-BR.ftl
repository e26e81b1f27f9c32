### Português do Brasil. The arguments are described in `en.ftl`.

title-position = N.º { $shown } na fila
title-waiting = Aguardando
title-turn = Chegou a sua vez

headline-busy = Há muitas pessoas aqui no momento
headline-closed = Desculpe, estamos lotados
headline-draining = A fila está fechada
headline-full = A fila está cheia
headline-key = Falta algo nesta solicitação
headline-network = Muitas pessoas da sua rede já estão na fila
headline-rate = Isso foi um pouco rápido demais
headline-setup = Este serviço não está configurado corretamente
headline-turn = Chegou a sua vez
headline-unavailable = Um momento, por favor
headline-waiting = Você está na fila

detail-busy = Todos os lugares estão ocupados no momento.
detail-closed = Ninguém mais pode entrar no momento.
detail-draining = Quem já está na fila será atendido, mas não é mais possível entrar nela.
detail-full = Há mais pessoas esperando do que a fila comporta.
detail-key = Ela não informa quem a enviou.
detail-network = Sua rede já ocupa na fila todos os lugares que uma rede pode ter.
detail-rate = Recebemos muitas solicitações suas em pouco tempo.
detail-setup = Você não fez nada de errado. O registro do servidor informa como resolver.
detail-unavailable = Algo do nosso lado não está funcionando como deveria. O serviço voltará em breve.

position = Você é o número { $shown } na fila
position-about = Você está por volta do número { $shown } na fila
position-first = Você é o próximo da fila
position-lot = A sua vez será definida por sorteio
position-pending = Estamos buscando o seu lugar
ahead = { $count ->
    [one] Cerca de { $shown } pessoa está à sua frente
   *[other] Cerca de { $shown } pessoas estão à sua frente
}

wait-about = Espera estimada: cerca de { $span }.
wait-long = Espera estimada: mais de um dia.
wait-paused = Ninguém está entrando no momento. Ainda não sabemos quanto tempo vai levar.
wait-short = Espera estimada: menos de um minuto.
wait-unknown = Ainda não sabemos quanto tempo vai levar.

keep = Você pode fechar esta aba por { $span } sem perder o seu lugar.
again = Tente novamente em { $span }.
unsent = O que você preencheu ainda não foi enviado. Nada se perdeu: mantenha esta página aberta e envie de novo quando chegar a sua vez.

updates = Esta página se atualiza sozinha.
updated = Última atualização:
offline = A conexão caiu. O seu lugar está guardado e continuamos tentando.
online = A conexão voltou.
cookies = Esta página precisa de cookies para guardar o seu lugar.
button-again = Tentar novamente
button-send = Enviar novamente

seconds = { $count ->
    [one] { $count } segundo
   *[other] { $count } segundos
}
minutes = { $count ->
    [one] { $count } minuto
   *[other] { $count } minutos
}
hours = { $count ->
    [one] { $count } hora
   *[other] { $count } horas
}
minutes-range = { $count ->
    [one] { $low } a { $count } minuto
   *[other] { $low } a { $count } minutos
}
hours-range = { $count ->
    [one] { $low } a { $count } hora
   *[other] { $low } a { $count } horas
}

stop = { $text }.

ahead-none = Não há ninguém à sua frente
line-about = { $count ->
    [one] Cerca de { $shown } pessoa está esperando
   *[other] Cerca de { $shown } pessoas estão esperando
}
slower = A espera aumentou porque as pessoas estão entrando mais devagar.
returned = A espera aumentou porque agora há mais pessoas à sua frente.
retries = Esta página tenta novamente sozinha.
support = Ajuda e contato

event-start = Começa em { $span }.
event-lot = Seu lugar será sorteado no início
event-number = Seu número no sorteio é { $shown }.
event-proof = Qualquer pessoa poderá verificar o sorteio depois. O compromisso dele (commitment) é { $text }.
event-result = Seu número { $low } de { $count } ficou com o lugar { $shown } no sorteio.
event-seed = Qualquer pessoa pode recalcular o sorteio. A semente dele (seed) é { $text }.

transfer-here = Continuar aqui com o melhor lugar dos dois dispositivos
transfer-link = Abra este link no outro dispositivo em alguns minutos. Não o compartilhe: ele dá acesso ao seu lugar.
transfer-offer = Continuar em outro dispositivo
transfer-void = Este link não é mais válido. Peça um novo no outro dispositivo.
