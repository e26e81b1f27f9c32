### Português de Portugal. The arguments are described in `en.ftl`.

title-position = N.º { $shown } na fila
title-waiting = Em espera
title-turn = Chegou a sua vez

headline-busy = Há muitas pessoas aqui neste momento
headline-closed = Lamentamos, estamos lotados
headline-draining = A fila está fechada
headline-full = A fila está cheia
headline-key = Falta algo neste pedido
headline-network = Muitas pessoas da sua rede já estão na fila
headline-rate = Foi um pouco rápido demais
headline-setup = Este serviço não está configurado corretamente
headline-turn = Chegou a sua vez
headline-unavailable = Um momento, por favor
headline-waiting = Encontra-se na fila de espera

detail-busy = Todos os lugares estão ocupados neste momento.
detail-closed = Mais ninguém pode entrar neste momento.
detail-draining = Quem já está na fila será atendido, mas já não é possível entrar nela.
detail-full = Há mais pessoas à espera do que as que cabem na fila.
detail-key = Não indica quem o enviou.
detail-network = A sua rede já ocupa na fila todos os lugares que uma rede pode ter.
detail-rate = Recebemos demasiados pedidos seus em pouco tempo.
detail-setup = Não fez nada de errado. O registo do servidor indica como resolver a situação.
detail-unavailable = Algo do nosso lado não está a funcionar como devia. O serviço será retomado em breve.

position = É o número { $shown } na fila
position-about = É aproximadamente o número { $shown } na fila
position-first = É o próximo na fila
position-lot = A sua vez é determinada por sorteio
position-pending = Estamos a obter o seu lugar
ahead = { $count ->
    [one] Cerca de { $shown } pessoa está à sua frente
   *[other] Cerca de { $shown } pessoas estão à sua frente
}

wait-about = Espera prevista: cerca de { $span }.
wait-long = Espera prevista: mais de um dia.
wait-paused = Neste momento não está a entrar ninguém. Ainda não sabemos quanto tempo vai demorar.
wait-short = Espera prevista: menos de um minuto.
wait-unknown = Ainda não sabemos quanto tempo vai demorar.

keep = Pode fechar este separador durante { $span } sem perder o seu lugar.
again = Tente novamente dentro de { $span }.
unsent = Os dados que introduziu ainda não foram enviados. Não se perderam: mantenha esta página aberta e envie-os novamente quando chegar a sua vez.

updates = Esta página atualiza-se automaticamente.
updated = Última atualização:
offline = A ligação foi interrompida. O seu lugar está guardado e continuamos a tentar.
online = A ligação foi restabelecida.
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
    [one] Cerca de { $shown } pessoa está à espera
   *[other] Cerca de { $shown } pessoas estão à espera
}
slower = A espera aumentou porque as entradas estão mais lentas.
returned = A espera aumentou porque há agora mais pessoas à sua frente.
retries = Esta página tenta novamente de forma automática.
support = Ajuda e contacto

event-start = Começa dentro de { $span }.
event-lot = O seu lugar será sorteado no início
event-number = O seu número no sorteio é { $shown }.
event-proof = Qualquer pessoa poderá verificar o sorteio depois. O seu compromisso (commitment) é { $text }.
event-result = O seu número { $low } de { $count } ficou com o lugar { $shown } no sorteio.
event-seed = Qualquer pessoa pode recalcular o sorteio. A sua semente (seed) é { $text }.

transfer-here = Continuar aqui com o melhor lugar dos dois dispositivos
transfer-link = Abra esta ligação no outro dispositivo dentro de alguns minutos. Não a partilhe: dá acesso ao seu lugar.
transfer-offer = Continuar noutro dispositivo
transfer-void = Esta ligação já não é válida. Peça uma nova no outro dispositivo.
